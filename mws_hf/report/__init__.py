"""The page of `mws report`: tokenizers side by side in one HTML file that asks no network.

`facts` (measured tables, words, uses of tokens; entries packed for searching in the browser) and `pictures` (SVG)
-> `page` (the template filled).
"""
