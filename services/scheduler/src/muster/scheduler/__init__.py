"""The scheduler: places whole gangs, and decides who leaves for whom."""
