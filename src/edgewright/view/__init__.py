"""Pictures of models: any file that is known becomes one plain document, which a page in a browser draws."""
