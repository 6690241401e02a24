// Loaded into the process of each test file: `--test-timeout` ends a slow test, but not a file that an open handle
// keeps alive.
const FILE_TIMEOUT_MS = 300_000
/** Of one test, however it is run. */
export const TEST_TIMEOUT_MS = 120_000

if (process.env['NODE_TEST_CONTEXT'] !== undefined) {
  const timer = setTimeout(() => {
    const open = process.getActiveResourcesInfo().join(', ')
    console.error(`This test file is not finished after ${FILE_TIMEOUT_MS / 1000} s. Still open: ${open}`)
    process.exit(1)
  }, FILE_TIMEOUT_MS)
  timer.unref()
}
