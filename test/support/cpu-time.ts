/**
 * Milliseconds of CPU time that this process, with all of its threads, has used since: how much something computes, however much
 * else the machine has to do.
 */
export function cpuStopwatch(): () => number {
  const start = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(start)
    return (user + system) / 1000
  }
}
