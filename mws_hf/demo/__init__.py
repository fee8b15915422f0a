"""The page of `mws demo`: text, words and comparisons as HTML by pure functions, and the Gradio app that shows them.

`tokens` (a tokenizer opened, a text as tokens) -> `views`, `word_view` (the panels, drawn by views.html) -> `app`
(the only module that needs Gradio).
"""
