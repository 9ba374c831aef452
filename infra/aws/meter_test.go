package aws_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/aws"
)

func TestMeter(t *testing.T) {
	m := &aws.Meter{}
	m.Count("b", "PutItem", 0, 1)
	m.Count("a", "PutItem", 0, 2.5)
	m.Count("a", "PutItem", 0, 1)
	m.Count("a", "Query", 0.5, 0)
	m.Messages("SendMessageBatch", "a", "a")
	m.Messages("SendMessageBatch", "a", "b", "a")
	m.Messages("ReceiveMessage")
	require.Equal(t, aws.Usage{Requests: 2, Writes: 3.5}, m.Total("a", "PutItem"))
	require.Equal(t, aws.Usage{Requests: 3, Writes: 4.5}, m.Total("", "PutItem"))
	require.Equal(t, aws.Usage{Requests: 2, Messages: 5}, m.Total("", "SendMessageBatch"))
	require.Equal(t, aws.Usage{Requests: 4, Messages: 4, Reads: 0.5, Writes: 3.5}, m.Total("a", ""))
	require.Equal(t, []aws.Line{
		{Operation: "ReceiveMessage", Usage: aws.Usage{Requests: 1}},
		{Operation: "SendMessageBatch", Usage: aws.Usage{Requests: 1}},
		{Run: "a", Operation: "PutItem", Usage: aws.Usage{Requests: 2, Writes: 3.5}},
		{Run: "a", Operation: "Query", Usage: aws.Usage{Requests: 1, Reads: 0.5}},
		{Run: "a", Operation: "SendMessageBatch", Usage: aws.Usage{Requests: 1, Messages: 4}},
		{Run: "b", Operation: "PutItem", Usage: aws.Usage{Requests: 1, Writes: 1}},
		{Run: "b", Operation: "SendMessageBatch", Usage: aws.Usage{Messages: 1}},
	}, m.Snapshot())
}

func TestMeterOfNobody(t *testing.T) {
	var m *aws.Meter
	m.Count("r", "PutItem", 0, 1)
	m.Messages("SendMessageBatch", "r")
	require.Zero(t, m.Total("", ""))
	require.Empty(t, m.Snapshot())
}

func TestMeterTogether(t *testing.T) {
	m := &aws.Meter{}
	var busy sync.WaitGroup
	for i := range 8 {
		busy.Go(func() {
			for n := range 1500 {
				m.Count(fmt.Sprint(i, n), "PutItem", 0, 1)
			}
		})
	}
	busy.Wait()
	require.Equal(t, aws.Usage{Requests: 12_000, Writes: 12_000}, m.Total("", "PutItem"))
	require.LessOrEqual(t, len(m.Snapshot()), 10_001, "memory is bounded, whatever the number of runs")
}
