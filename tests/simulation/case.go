package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Case names one simulation: a seed, and what of it a smaller repetition leaves out. The same case goes the same way.
type Case struct {
	Seed uint64
	// Faults that happen, by their number in order; nil: all that are drawn.
	Faults []int
	// Without lists nodes of programs ("p0.n3") and acts of callers ("c1.2") that are left out.
	Without []string
}

// String is what [ParseCase] reads.
func (c Case) String() string {
	text := strconv.FormatUint(c.Seed, 10)
	if c.Faults != nil {
		numbers := make([]string, len(c.Faults))
		for i, fault := range c.Faults {
			numbers[i] = strconv.Itoa(fault)
		}
		text += "/faults=" + strings.Join(numbers, ",")
	}
	if len(c.Without) > 0 {
		text += "/without=" + strings.Join(c.Without, ",")
	}
	return text
}

// ParseCase reads what a failed simulation printed: SEED, with /faults=NUMBERS and /without=PLACES where it was made smaller.
func ParseCase(text string) (c Case, err error) {
	seed, rest, _ := strings.Cut(text, "/")
	if c.Seed, err = strconv.ParseUint(seed, 10, 64); err != nil {
		return c, fmt.Errorf("%q is no case of a simulation: it begins with a seed, a whole number", text)
	}
	for part := range strings.SplitSeq(rest, "/") {
		name, list, _ := strings.Cut(part, "=")
		var items []string
		if list != "" {
			items = strings.Split(list, ",")
		}
		switch name {
		case "":
		case "faults":
			c.Faults = []int{}
			for _, item := range items {
				number, err := strconv.Atoi(item)
				if err != nil {
					return c, fmt.Errorf("%q is no case of a simulation: %q is not the number of a fault", text, item)
				}
				c.Faults = append(c.Faults, number)
			}
		case "without":
			c.Without = items
		default:
			return c, fmt.Errorf("%q is no case of a simulation: it has no part %q; there are faults and without", text, name)
		}
	}
	return c, nil
}

// Streams of random numbers, so that what is left out of one does not change the others.
const (
	ofLimits = iota + 1
	ofPrograms
	ofCallers
	ofSchedule
	ofFaults
	ofProcesses
	ofSpecials
)

// ofDefinitions is drawn apart from the streams above, so that other seeds keep their meaning.
const ofDefinitions = 20

// ofFlows and ofMore are drawn apart, too.
const (
	ofFlows = 30
	ofMore  = 40
)

func (c Case) stream(of uint64) *rand.Rand {
	return rand.New(rand.NewPCG(c.Seed, of)) //nolint:gosec // repeatable on purpose
}

func (c Case) leavesOut(place string) bool { return slices.Contains(c.Without, place) }

// limits are what a deployment may have set otherwise.
type limits struct {
	// together: one process, whose queues die with it.
	together bool
	// deploys: the code of the first deployment is replaced while runs are under way.
	deploys    bool
	programs   int
	callers    int
	liveRuns   int           // that a process keeps
	known      int           // ids of mail that a generation hands on
	page       int           // records that one read gives
	checkpoint int           // records after which one says what is pending
	batch      int           // messages that one invocation gets
	atOnce     int           // processes of one function
	lifetime   time.Duration // of an invocation
	visibility time.Duration // of a message that was received
	receives   int           // before a message is dead
	latest     time.Duration // by which a message comes too late
	retention  time.Duration // of the logs of generations that have ended
	skew       time.Duration // that two clocks may differ by
	// rates in a thousand, by kind of fault.
	rates [faultKinds]int
	calm  int // events after which faults stop
	specials
}

func (c Case) limits() limits {
	r := c.stream(ofLimits)
	pick := func(of ...int) int { return of[r.IntN(len(of))] }
	l := limits{
		together: r.IntN(4) == 0, deploys: r.IntN(4) == 0,
		programs: pick(1, 2, 2, 3), callers: pick(1, 2, 2, 3), liveRuns: pick(1, 2, 100), page: pick(1, 2, 5, 1000), batch: pick(1, 1, 3, 10),
		atOnce: pick(1, 2, 3, 4), lifetime: time.Duration(pick(4, 10, 30, 60)) * time.Second,
		visibility: time.Duration(pick(2, 10, 60)) * time.Second, receives: pick(3, 5, 20), calm: pick(0, 200, 500, 1000),
	}
	if !l.together && r.IntN(3) > 0 {
		l.skew = time.Duration(r.IntN(4000)) * time.Millisecond
	}
	for kind := range l.rates {
		if r.IntN(3) > 0 { // each case has faults of its own, so that one kind does not hide what follows from another
			l.rates[kind] = 1 + r.IntN(40)
		}
	}
	l.deploys = l.deploys && !l.together
	if l.known = pick(1, 3, 1000); l.skew > time.Second { // clocks that differ by more: what is forgotten may be taken again
		l.known = 1000
	}
	if l.latest = 10 * time.Minute; pick(0, 1, 2) == 0 { // messages live shortly, so that logs are deleted while there are faults
		l.latest, l.receives, l.visibility, l.lifetime, l.calm = 3*time.Second, 3, 2*time.Second, 4*time.Second, 2000
	}
	l.specials = drawSpecials(c.stream(ofSpecials))
	l.specials.adapt(&l)
	l.published = c.stream(ofDefinitions).IntN(6) == 0
	l.drawFlows(c.stream(ofFlows))
	l.drawMore(c.stream(ofMore))
	if l.retention = time.Millisecond; !l.together { // a message lives no longer
		l.retention = l.latest + time.Duration(l.receives+5)*l.visibility + l.lifetime + l.skew
	}
	l.checkpoint = pick(1, 2, 5, 64)
	return l
}
