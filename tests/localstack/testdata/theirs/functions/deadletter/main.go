package main

import "github.com/reprise-run/reprise/functions/boot"

func main() { boot.DeadLetter() }
