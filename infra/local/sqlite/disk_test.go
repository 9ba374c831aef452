package sqlite_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// disk stands between SQLite and the file system in this test's process: it counts flushes (fsync)
// and has writes and flushes fail, of write-ahead logs alone. It replaces methods of SQLite's own
// VFS.
var disk struct {
	install sync.Once
	open    func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32
	methods *sqlite3.Tsqlite3_io_methods // of the VFS's files
	logs    *sqlite3.Tsqlite3_io_methods // of write-ahead logs; in memory of C, as SQLite expects
	flushes atomic.Int64
	fails   atomic.Pointer[string] // "write" or "flush"
}

// watchDisk begins to watch the disk. Files that are open already are not watched.
func watchDisk(t *testing.T) {
	t.Helper()
	disk.install.Do(func() {
		tls := libc.NewTLS()
		defer tls.Close()
		vfs := (*sqlite3.Tsqlite3_vfs)(pointer(sqlite3.Xsqlite3_vfs_find(tls, 0)))
		disk.open = *(*func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32)(unsafe.Pointer(&struct{ f uintptr }{vfs.FxOpen}))
		vfs.FxOpen = address(openFile)
		disk.logs = (*sqlite3.Tsqlite3_io_methods)(pointer(libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(*disk.logs)))))
	})
	t.Cleanup(func() { disk.fails.Store(nil) })
}

// failOnce has the next write, or the next flush, of a write-ahead log fail.
func failOnce(what string) { disk.fails.Store(&what) }

func failsNow(what string) bool {
	next := disk.fails.Load()
	return next != nil && *next == what && disk.fails.CompareAndSwap(next, nil)
}

func openFile(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32 {
	code := disk.open(tls, vfs, name, file, flags, out)
	if code != sqlite3.SQLITE_OK || flags&sqlite3.SQLITE_OPEN_WAL == 0 {
		return code
	}
	methods := (*uintptr)(pointer(file)) // the first field of every file
	disk.methods = (*sqlite3.Tsqlite3_io_methods)(pointer(*methods))
	*disk.logs = *disk.methods
	disk.logs.FxSync, disk.logs.FxWrite = address(flushLog), address(writeLog)
	*methods = uintptr(unsafe.Pointer(disk.logs))
	return code
}

func flushLog(tls *libc.TLS, file uintptr, flags int32) int32 {
	if failsNow("flush") {
		return sqlite3.SQLITE_IOERR_FSYNC
	}
	disk.flushes.Add(1)
	return (*(*func(*libc.TLS, uintptr, int32) int32)(unsafe.Pointer(&struct{ f uintptr }{disk.methods.FxSync})))(tls, file, flags)
}

func writeLog(tls *libc.TLS, file, text uintptr, length int32, offset int64) int32 {
	if failsNow("write") {
		return sqlite3.SQLITE_IOERR_WRITE
	}
	return (*(*func(*libc.TLS, uintptr, uintptr, int32, int64) int32)(unsafe.Pointer(&struct{ f uintptr }{disk.methods.FxWrite})))(tls, file, text, length, offset)
}

// address is what SQLite, translated to Go, has for a pointer to a function.
func address[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&struct{ f F }{f})) }

// pointer is memory that SQLite has allocated: the garbage collector knows nothing of it.
func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }
