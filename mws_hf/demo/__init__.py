"""The page of `mws demo`: text, words and comparisons as HTML by pure functions, and the Gradio app that shows them.

`tokens` (a tokenizer opened, a text as tokens) -> `writing` (characters as HTML, directions) -> `text_view`,
`word_view`, `comparison` (the three panels) -> `app` (examples to try; the only module that needs Gradio),
behind `guard` (requests that its server refuses).
"""
