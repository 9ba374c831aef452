package port

// Limits of what callers give. Each is an error that names it.
const (
	LongestID   = 200      // bytes, of a run or a message
	LongestName = 100      // bytes, of a workflow, signal, query, attribute, type of failure and so on
	LongestText = 64 << 10 // bytes, of a reason or a failure's message
	// MostAncestors is how many runs may wait for a child, each for the next. It bounds workflows
	// that start each other in a circle.
	MostAncestors = 100
)
