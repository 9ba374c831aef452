package template

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// alarm is one of CloudWatch's, over one metric or over a sum.
type alarm struct {
	metric      `yaml:",inline"`
	Period      int    `yaml:"Period"`
	Periods     int    `yaml:"EvaluationPeriods"`
	Comparison  string `yaml:"ComparisonOperator"`
	MissingData string `yaml:"TreatMissingData"`
	Metrics     []struct {
		Expression string `yaml:"Expression"`
		Stat       struct {
			Metric metric `yaml:"Metric"`
		} `yaml:"MetricStat"`
	} `yaml:"Metrics"`
	Actions yaml.Node `yaml:"AlarmActions"`
}

type metric struct {
	Namespace  string `yaml:"Namespace"`
	Name       string `yaml:"MetricName"`
	Dimensions []struct {
		Name  string `yaml:"Name"`
		Value value  `yaml:"Value"`
	} `yaml:"Dimensions"`
}

// of is the value of a dimension; empty if there is none.
func (m metric) of(dimension string) value {
	for _, d := range m.Dimensions {
		if d.Name == dimension {
			return d.Value
		}
	}
	return ""
}

// watched are all pairs of a metric and what it is of.
func watched(a alarm, dimension string) (found []string) {
	for _, m := range a.Metrics {
		if m.Expression == "" {
			found = append(found, m.Stat.Metric.Name+" "+string(m.Stat.Metric.of(dimension)))
		}
	}
	if a.Name != "" {
		found = append(found, a.Name+" "+string(a.of(dimension)))
	}
	return found
}

func TestFunctionsMayInvokeEachOtherInLoops(t *testing.T) {
	d := parse(t)
	require.Equal(t, "Allow", d.Globals.Function.RecursiveLoop, "Lambda stops a chain of messages after 16 invocations otherwise")
	var dropped []string
	for id, f := range d.functions(t) {
		require.Empty(t, f.RecursiveLoop, "%s must be as all functions are", id)
		dropped = append(dropped, "RecursiveInvocationsDropped !Ref "+id)
	}
	require.ElementsMatch(t, dropped, watched(d.alarms(t)["LoopAlarm"], "FunctionName"))
}

func TestEveryAlarmReachesTheTopic(t *testing.T) {
	for id, a := range parse(t).alarms(t) {
		require.Equal(t, "!If", a.Actions.Tag, id)
		require.Equal(t, "HasAlarmTopic", a.Actions.Content[0].Value, id)
	}
}

// TestTheScheduleIsWatched: a function that is never invoked has no metric at all, and no error.
func TestTheScheduleIsWatched(t *testing.T) {
	a := parse(t).alarms(t)["ScheduleAlarm"]
	require.Equal(t, []string{"Invocations !Ref TimerFunction"}, watched(a, "FunctionName"))
	require.Equal(t, "LessThanThreshold", a.Comparison)
	require.Equal(t, "breaching", a.MissingData)
	require.LessOrEqual(t, a.Period*a.Periods, 15*60, "longer, and timers are late: those of 15 minutes or less are in a queue")
}

func TestTheAPIAndTheTableAreWatched(t *testing.T) {
	alarms := parse(t).alarms(t)
	require.Equal(t, []string{"5XXError live"}, watched(alarms["ApiAlarm"], "Stage"))
	require.ElementsMatch(t, []string{"ReadThrottleEvents ", "WriteThrottleEvents ", "WriteThrottleEvents listing", "WriteThrottleEvents blocked"},
		watched(alarms["TableAlarm"], "GlobalSecondaryIndexName"))
}

func (d *deployment) alarms(t *testing.T) map[string]alarm {
	t.Helper()
	return kept[alarm](t, d, "AWS::CloudWatch::Alarm")
}
