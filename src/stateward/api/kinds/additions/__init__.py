"""What a spec adds to the image of a search engine: settings of the keystore, and plug-ins."""
