"""Runs CUDA programs that were not written for the emulator on it."""
