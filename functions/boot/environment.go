package boot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api"
	httpexec "github.com/reprise-run/reprise/infra/executor/http"
	"github.com/reprise-run/reprise/infra/system"
)

// environment is what template.yaml tells a function.
type environment struct {
	table, bucket        string
	resumes, tasks, dead string // URLs of queues
	stack                string // that the function is of
	version              string // of the deployment; "" if neither a parameter nor the build names it
	kmsKey               string // ARN of the key in KMS that values are sealed under; empty: they are not sealed
	worker               string // where this process logs
	retention            time.Duration
	access               api.Access // of callers of functions/api
	shards               int
	workers              *httpexec.Allow // targets that workers may be called at
	workerTTL            time.Duration   // how long a worker is online after its last heartbeat
	memory               int64           // bytes that the function has; 0: it is not known
}

// readEnvironment names all that is missing at once.
func readEnvironment(getenv func(string) string) (e environment, err error) {
	var missing []string
	for name, into := range map[string]*string{"REPRISE_TABLE": &e.table, "REPRISE_BUCKET": &e.bucket, "REPRISE_RESUMES": &e.resumes, "REPRISE_TASKS": &e.tasks} {
		if *into = getenv(name); *into == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return e, fmt.Errorf("the environment lacks %s: template.yaml sets them", strings.Join(missing, ", "))
	}
	e.dead, e.stack, e.version, e.kmsKey = getenv("REPRISE_DEAD"), getenv("REPRISE_STACK"), getenv("REPRISE_VERSION"), getenv("REPRISE_KMS_KEY")
	const least, usual = 15, 30
	days := usual
	if text := getenv("REPRISE_RETENTION_DAYS"); text != "" {
		if days, err = strconv.Atoi(text); err != nil || days < least {
			return e, fmt.Errorf("REPRISE_RETENTION_DAYS is %q: a number of days, %d or more", text, least)
		}
	}
	e.retention = time.Duration(days) * 24 * time.Hour
	const fewest, mostShards = 8, 1024
	if text := getenv("REPRISE_SHARDS"); text != "" {
		e.shards, err = strconv.Atoi(text)
		if err != nil || e.shards < fewest || e.shards > mostShards {
			return e, fmt.Errorf("REPRISE_SHARDS is %q: a number of shards, %d to %d", text, fewest, mostShards)
		}
	}
	rules := strings.FieldsFunc(getenv("REPRISE_ALLOW_WORKERS"), func(r rune) bool {
		return r == ',' || r == ' '
	})
	if e.workers, err = httpexec.ParseAllow(rules); err != nil {
		return e, fmt.Errorf("the parameter AllowWorkers: %w", err)
	}
	if e.workerTTL, err = readWorkerTTL(getenv("REPRISE_WORKER_TTL")); err != nil {
		return e, err
	}
	if megabytes, err := strconv.ParseInt(getenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"), 10, 64); err == nil {
		e.memory = megabytes << 20
	}
	e.access = api.BySignature
	if getenv("REPRISE_AUTHORIZER") == "NONE" {
		e.access = api.ByNothing
	}
	if e.version == "" {
		e.version = system.Revision()
	}
	e.worker = strings.TrimPrefix(getenv("AWS_LAMBDA_FUNCTION_NAME")+" "+getenv("AWS_LAMBDA_LOG_STREAM_NAME"), " ")
	return e, nil
}

// readWorkerTTL reads a number of seconds; "" is the usual one.
func readWorkerTTL(text string) (time.Duration, error) {
	if text == "" {
		return port.WorkerTTL, nil
	}
	const most = 24 * 60 * 60
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 1 || seconds > most {
		return 0, fmt.Errorf("REPRISE_WORKER_TTL is %q: a number of seconds, 1 to %d", text, most)
	}
	return time.Duration(seconds) * time.Second, nil
}

// setVariables sets the environment variables that the parameter Variables of template.yaml names:
// "STAGE=prod,GREETING=hello". CloudFormation cannot make variables of a parameter's text. It refuses to
// change a variable that Lambda or the template has set.
func setVariables(text string, lookup func(name string) (string, bool), set func(name, value string) error) error {
	if text == "" {
		return nil
	}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return fmt.Errorf("the parameter Variables has %q; write NAME=value, with commas between", pair)
		}
		if there, ok := lookup(name); ok && there != value {
			return fmt.Errorf("the parameter Variables sets %s, which Lambda or the template has set already", name)
		}
		if err := set(name, value); err != nil {
			return fmt.Errorf("set the environment variable %s: %w", name, err)
		}
	}
	return nil
}
