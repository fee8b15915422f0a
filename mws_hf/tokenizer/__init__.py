"""Tokenizers and their folders: build, open, explain, export and save them. No module here learns merges."""
