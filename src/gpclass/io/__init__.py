"""Files: saved models, HTML pages, and the bridge to ArviZ."""
