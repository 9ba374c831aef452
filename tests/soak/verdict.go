package main

import (
	"fmt"
	"math"
	"time"

	"github.com/reprise-run/reprise/tests/gauge"
)

// verdict is one line at the end.
type verdict struct {
	name string
	good bool
	text string
}

func (v verdict) String() string {
	mark := "ok "
	if !v.good {
		mark = "BAD"
	}
	return fmt.Sprintf("%s  %-24s %s", mark, v.name, v.text)
}

// series is one quantity over time, looked at in even intervals; warm-up is not in it.
type series struct {
	name   string
	values []float64
	// Growth from the first third to the last counts if it is more than both: a part of the first third's median, and an amount.
	part, amount float64
}

// trend says whether a quantity grows. The medians of the first and of the last third are compared: a hiccup moves neither, and
// what grows for good moves them apart. What counts as growth must also be more than three standard errors of that
// difference, as the spread within the thirds tells, so that a few wild values are no trend.
func (s series) trend(interval time.Duration) verdict {
	third := len(s.values) / 3
	if third == 0 {
		return verdict{name: s.name, text: "too few values"}
	}
	first, last := s.values[:third], s.values[len(s.values)-third:]
	was, is := gauge.Quantile(first, 0.5), gauge.Quantile(last, 0.5)
	grown := is - was
	limit := max(s.part*was, s.amount, 3*math.Hypot(medianError(first), medianError(last)))
	hours := (time.Duration(len(s.values)-third) * interval).Hours()
	v := verdict{name: s.name, good: grown <= limit, text: fmt.Sprintf("flat: %s, then %s", gauge.Show(was), gauge.Show(is))}
	if !v.good {
		v.text = fmt.Sprintf("grows by %.0f %%/h: %s, then %s; noise explains %s more", 100*grown/max(was, 1)/hours, gauge.Show(was), gauge.Show(is),
			gauge.Show(limit))
	}
	return v
}

// medianError is about the standard error of the median of values, from their median distance to it.
func medianError(values []float64) float64 {
	middle := gauge.Quantile(values, 0.5)
	distances := make([]float64, len(values))
	for i, v := range values {
		distances[i] = math.Abs(v - middle)
	}
	const normal, ofMedian = 1.4826, 1.2533 // distance to standard deviation; error of a mean to that of a median
	return ofMedian * normal * gauge.Quantile(distances, 0.5) / math.Sqrt(float64(len(values)))
}
