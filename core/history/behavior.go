package history

// Behavior is this program's behavior version: it numbers the rules by which the scheduler turns
// events and workflow code into commands. The first event of a generation records it, and the
// generation keeps it until its end. So a log replays under the rules that wrote it, forever.
//
// A change that gives other commands for the same log needs the next number. The code before the
// change stays, for logs with a lower number (scheduler.Run.Since). tests/compat has logs of each.
//
//	0  logs without a number.
//	1  A condition still holds when AwaitCondition returns. A panic fails the activation, unless the
//	   workflow fails on panics. A future of a signal takes signals only while a unit awaits it.
//	   An error that joins a cancellation with another failure fails the run, unless the run was
//	   canceled. A run that completes waits for the handlers of its messages, and rejects the updates
//	   that come from then on; one that fails rejects those that no handler has accepted. A phase with a
//	   deadline in the past ends at once, and calls with invalid options give no command. The
//	   error of a canceled run begins with "canceled: " where a reason was given.
//	   After a reset, code that runs in a record of an earlier generation sees the number of that one.
//	2  A signal that does not fit its type fails the activation. Before, the code got the error.
const Behavior = 2
