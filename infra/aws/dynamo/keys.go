package dynamo

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// Partitions. All of a run is in the one of its id.
const (
	runPrefix        = "run#"
	duePrefix        = "due#"
	bucketsPartition = "buckets" // of older versions; now "buckets#0", "buckets#1", …
	keyPartition     = "key"
	// definitionPrefix begins the partition of a published definition: all of its versions are in
	// it. namesPartition has a row for each name.
	definitionPrefix = "definition#"
	namesPartition   = "definitions"
	// workersPartition has a row for each worker, by its URL.
	workersPartition = "workers"
)

// Sort keys in a run's partition. They sort in this order, and look.go reads them backward: the summary, the inbox, the log.
const (
	logPrefix  = "log#"
	itemPrefix = "new#"
	summaryKey = "run"
	taskPrefix = "task#" // beyond the summary, so that a look does not meet it
)

// notePrefix begins the keys of notes. They are beyond the summary, so that a look does not meet them.
const notePrefix = "taken#"

// Sort keys in a definition's partition: what a version is, which a listing reads, and its source.
const (
	versionPrefix = "version#"
	sourcePrefix  = "source#"
)

func versionKey(prefix string, version int) string { return fmt.Sprintf("%s%09d", prefix, version) }

// tokenKey is the sort key of the key that signs tokens.
const tokenKey = "token"

const (
	// fewestShards is how many partitions of an index share the load, unless Config.Shards is more.
	fewestShards = 8
	// timerShards is how many partitions the timers of one minute share. It is part of what is stored:
	// never changed.
	timerShards = 8
	// bucketLists is how many partitions the list of buckets has. A bucket is in the one of its name.
	bucketLists = 16
)

// longestKey is how many bytes a sort key has at most: DynamoDB's limit.
const longestKey = 1024

// longestNumber is the greatest number of a generation or a record whose key sorts rightly.
const longestNumber = 999_999_999

func partition(run string) string { return runPrefix + run }

func logKey(generation, number int) string {
	return fmt.Sprintf("%s%09d#%09d", logPrefix, generation, number)
}

// placeOf reads a record's key.
func placeOf(key string) (generation, number int, err error) {
	if _, err := fmt.Sscanf(key, logPrefix+"%d#%d", &generation, &number); err != nil || min(generation, number) < 0 || logKey(generation, number) != key {
		return 0, 0, fmt.Errorf("%w: %q is no key of a record", history.ErrUnreadable, key)
	}
	return generation, number, nil
}

func itemKey(key string) string { return itemPrefix + key }

func noteKey(key string) string { return notePrefix + key }

func taskKey(key port.TaskKey) string {
	return fmt.Sprintf("%s%09d#%d", taskPrefix, key.Generation, key.Seq)
}

// shardOf spreads names evenly over some shards, the same name always to the same shard.
func shardOf(name string, shards int) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name))
	return strconv.Itoa(int(hash.Sum32() % uint32(shards)))
}

// listedKey is the listing's partition of runs of one status in one shard.
func listedKey(status history.Status, shard string) string { return string(status) + "#" + shard }

// sortableTime is of one length, so that text sorts as time does: from the year 0 to 9999.
const sortableTime = "2006-01-02T15:04:05.000000000Z"

// startedKey is a run's place in a listing: by the time of its start, then by its id.
func startedKey(started time.Time, run string) string { return sortable(started) + "#" + run }

func sortable(t time.Time) string { return t.UTC().Format(sortableTime) }

// minuteOf gives the beginning of a bucket, as its key says it.
func minuteOf(at time.Time) string { return at.UTC().Truncate(time.Minute).Format(time.RFC3339) }

// bucketOf is the bucket of a timer: of its minute, and one shard of that.
func bucketOf(timer port.DueTimer) string {
	return minuteOf(timer.At) + "#" + shardOf(timer.Run, timerShards)
}

// beginOf gives when a bucket begins.
func beginOf(bucket string) (time.Time, error) {
	minute, _, _ := strings.Cut(bucket, "#")
	begin, err := time.Parse(time.RFC3339, minute)
	if err != nil {
		return begin, fmt.Errorf("%w: %q is no bucket of timers: %w", history.ErrUnreadable, bucket, err)
	}
	return begin, nil
}

func dueKey(timer port.DueTimer) string {
	return fmt.Sprintf("%s#%s#%d#%d", sortable(timer.At), timer.Run, timer.Generation, timer.Seq)
}

// timerOf reads a timer's key. A run's id may itself contain what separates the parts.
func timerOf(key string) (timer port.DueTimer, err error) {
	at, rest, _ := strings.Cut(key, "#")
	parts := strings.Split(rest, "#")
	last := len(parts) - 1
	if last < 2 {
		return timer, fmt.Errorf("%w: %q is no key of a timer", history.ErrUnreadable, key)
	}
	timer.Run = strings.Join(parts[:last-1], "#")
	if timer.At, err = time.Parse(sortableTime, at); err == nil {
		if timer.Generation, err = strconv.Atoi(parts[last-1]); err == nil {
			timer.Seq, err = strconv.ParseInt(parts[last], 10, 64)
		}
	}
	if err != nil {
		return timer, fmt.Errorf("%w: %q is no key of a timer: %w", history.ErrUnreadable, key, err)
	}
	return timer, nil
}

// row is an item of the table; it is called so because an item of an inbox is another thing.
type row = map[string]types.AttributeValue

func keyOf(pk, sk string) row { return row{"pk": text(pk), "sk": text(sk)} }

func text(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }

func number(value int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(value, 10)}
}

// textOf gives an attribute that is text; empty if it is not there.
func textOf(r row, name string) string {
	if value, ok := r[name].(*types.AttributeValueMemberS); ok {
		return value.Value
	}
	return ""
}

// numberOf gives an attribute that is a whole number; 0 if it is not there.
func numberOf(r row, name string) int64 {
	if value, ok := r[name].(*types.AttributeValueMemberN); ok {
		if n, err := strconv.ParseInt(value.Value, 10, 64); err == nil {
			return n
		}
	}
	return 0
}

// runOf gives the run whose partition a row is in; empty if it is no run's.
func runOf(r row) string {
	run, ok := strings.CutPrefix(textOf(r, "pk"), runPrefix)
	if !ok {
		return ""
	}
	return run
}
