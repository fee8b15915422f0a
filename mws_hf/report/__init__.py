"""The page of `mws report`: tokenizers side by side in one HTML file that asks no network."""
