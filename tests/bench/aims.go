package main

// aim is what a figure is held against.
type aim struct {
	value  float64
	atMost bool
}

func (a aim) met(value float64) bool {
	if a.atMost {
		return value <= a.value
	}
	return value >= a.value
}

func least(value float64) aim { return aim{value: value} }
func most(value float64) aim  { return aim{value: value, atMost: true} }

// aims by workload and figure. Throughputs are multiples of what other engines reached on the machine of README.md; the
// multiples themselves are what tests/bench/peers measures, and what counts on any other machine.
var aims = map[[2]string]aim{
	{"inline, HTTP", "activities/s"}:               least(22_000), // 5 × Restate's ctx.Run
	{"inline, in process", "activities/s"}:         least(22_000),
	{"inline, HTTP", "CPU ms per activity"}:        most(0.08),
	{"inline, in process", "CPU ms per activity"}:  most(0.08),
	{"inline, HTTP", "flushes per activity"}:       most(0.05),
	{"inline, in process", "flushes per activity"}: most(0.05),
	{"queued, HTTP", "activities/s"}:               least(11_400), // 10 × Restate's calls
	{"queued, in process", "activities/s"}:         least(11_400),
	{"inline, HTTP", "RSS MB"}:                     most(40),
	{"queued, HTTP", "RSS MB"}:                     most(40),

	{"fan-out of 100, inline", "activities/s"}: least(13_600), // 10 × Restate's
	{"fan-out of 100, queued", "activities/s"}: least(15_100),

	{"one run of 1000, inline", "ms per activity"}: most(0.2),
	{"one run of 10k, inline", "ms per activity"}:  most(0.2),
	{"one run of 1000, queued", "ms per activity"}: most(0.3),
	{"one run of 10k, queued", "ms per activity"}:  most(0.3),

	{"one run of 1000, inline", "last hundred / first hundred"}: most(1.1),
	{"one run of 10k, inline", "last hundred / first hundred"}:  most(1.1),
	{"one run of 1000, queued", "last hundred / first hundred"}: most(1.1),
	{"one run of 10k, queued", "last hundred / first hundred"}:  most(1.1),

	{"timer of 1 s", "ms late, p99"}:                          most(2),
	{"mail, HTTP", "signal ms until seen by code, p50"}:       most(0.3),
	{"mail, in process", "signal ms until seen by code, p50"}: most(0.3),

	{"100k suspended runs", "KB of heap and stack per live run (first 1,000)"}:     most(8),
	{"100k suspended runs", "KB of heap and stack per suspended run (beyond 10k)"}: most(0.02), // none, but for noise

	{"replay of 1,000 activities, decoded", "ns per activity"}:                most(1000),
	{"replay of 10,000 activities, decoded", "ns per activity"}:               most(1000),
	{"replay of 1,000 activities, with decoding", "ns per activity"}:          most(4000),
	{"replay of 10,000 activities, with decoding", "ns per activity"}:         most(4000),
	{"replay of 1,000 activities, with decoding", "allocations per activity"}: most(12),
}
