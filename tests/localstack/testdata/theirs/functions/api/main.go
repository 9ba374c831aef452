package main

import (
	"example.com/theirs/trials"
	"github.com/reprise-run/reprise/functions/boot"
)

func main() { boot.API(trials.Definitions()...) }
