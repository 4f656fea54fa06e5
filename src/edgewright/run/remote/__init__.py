"""Runs models on another machine: a board behind ssh, or a phone behind adb."""
