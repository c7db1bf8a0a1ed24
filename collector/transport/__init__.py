"""What every listener needs: an HTTP server, TLS, tokens, limits."""
