"""What a tokenizer is made of: its file as a value. Nothing here learns, and nothing opens a file."""
