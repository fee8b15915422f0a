"""Write the page of `mws report`: tokenizers side by side in one HTML file that needs no network."""
