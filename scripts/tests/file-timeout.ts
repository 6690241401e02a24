// Loaded into the process of each test file: `--test-timeout` ends a slow test, but not a file that an open handle
// keeps alive.
const FILE_TIMEOUT_MS = 300_000
/** Of one test, however it is run. */
export const TEST_TIMEOUT_MS = 120_000

/** Ends this process after this time, and prints the problem and the open handles; the timer itself does not keep it alive. */
export const exitAfter = (milliseconds: number, problem: () => string): NodeJS.Timeout =>
  setTimeout(() => {
    console.error(`${problem()} Still open: ${process.getActiveResourcesInfo().join(', ')}`)
    process.exit(1)
  }, milliseconds).unref()

if (process.env['NODE_TEST_CONTEXT'] !== undefined) {
  exitAfter(FILE_TIMEOUT_MS, () => `This test file is not finished after ${FILE_TIMEOUT_MS / 1000} s.`)
}
