module example.com/theirs

go 1.26.8

require github.com/reprise-run/reprise v0.0.0

replace github.com/reprise-run/reprise => ../../../..
