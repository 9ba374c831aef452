module github.com/reprise-run/reprise

go 1.26.8
