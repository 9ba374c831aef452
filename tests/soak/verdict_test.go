package main

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// over gives 120 values, each at its part of the whole.
func over(value func(part float64) float64) (values []float64) {
	for i := range 120 {
		values = append(values, value(float64(i)/120))
	}
	return values
}

func TestTrends(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(size float64) float64 { return size * (2*random.Float64() - 1) }
	for name, c := range map[string]struct {
		flat   bool
		values []float64
	}{
		"nothing at all":      {true, over(func(float64) float64 { return 0 })},
		"noise":               {true, over(func(float64) float64 { return 100 + noise(40) })},
		"a sawtooth":          {true, over(func(part float64) float64 { return 100 + 50*(part*17-float64(int(part*17))) })},
		"less and less":       {true, over(func(part float64) float64 { return 100 - 50*part })},
		"a hiccup at the end": {true, over(func(part float64) float64 { return 100 + 5000*float64(int(part+0.05)) })},
		"a little more":       {true, over(func(part float64) float64 { return 100 + 10*part })},
		"a leak":              {false, over(func(part float64) float64 { return 100 + 30*part })},
		"a leak in noise":     {false, over(func(part float64) float64 { return 100 + 60*part + noise(40) })},
		"a step":              {false, over(func(part float64) float64 { return 100 + 30*float64(int(part+0.5)) })},
		"from nothing":        {false, over(func(part float64) float64 { return 30 * part })},
	} {
		v := series{name: name, values: c.values, part: 0.1, amount: 5}.trend(10 * time.Second)
		require.Equal(t, c.flat, v.good, "%s", v)
	}
}

func TestTrendsSayHowMuch(t *testing.T) {
	leak := series{name: "heap", values: over(func(part float64) float64 { return 100 + 60*part }), part: 0.1, amount: 5}
	v := leak.trend(15 * time.Second) // 30 minutes, of which the medians are 20 apart
	require.Equal(t, "BAD  heap                     grows by 110 %/h: 110, then 150; noise explains 11.0 more", v.String())
}
