package api

import "slices"

// group is the endpoints of one tag.
type group struct {
	tag, describe string
	endpoints     []endpoint
}

// groups are all that there is, in the order in which the document lists it.
func groups() []group {
	return []group{
		{"runs", "A run is one execution of a workflow, under an id that its starter may choose.",
			runEndpoints()},
		{"history", "A run's log: what happened to it, and what it decided.", logEndpoints()},
		{"messages", "What is sent to a run. One sender's messages keep their order: give each " +
			"the stamp of the one before.", mailEndpoints()},
		{"definitions", "Workflows that are published as text: they run without a build or a " +
			"deployment.", definitionEndpoints()},
		{"activities", "Work that runs have asked for.", activityEndpoints()},
		{"workers", "Processes that offer services over HTTP, which flows call.",
			workerEndpoints()},
		{serverTag, "The server itself.", slices.Concat(serverEndpoints(), repairEndpoints(),
			backupEndpoints())},
	}
}
