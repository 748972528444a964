"""Inputs: files of any kind, or objects that hold columns -> blocks of rows."""
