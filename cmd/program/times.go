package program

import (
	"fmt"
	"strings"
	"time"
)

// span is a duration for people: two units at most.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + span(-d)
	case d < time.Millisecond:
		return "0ms"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// nominal is a duration as somebody chose it: exact, and without what is zero.
func nominal(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// clock is a time of day where the reader is.
func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// ago is how long a time has passed. Clocks of two machines may differ: never less than nothing.
func (p *program) ago(t time.Time) string { return span(max(p.now().Sub(t), 0)) }
