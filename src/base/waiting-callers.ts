/** Lets a caller wait for the work; undefined, without beginning it, if too many of its zone wait already. */
type WaitingCallers = <T>(zoneId: string, work: () => Promise<T>) => Promise<T> | undefined

/** Callers of a zone: all wait for the same answer, which may not come, and each is a request that the process has under way. */
const MAX_WAITING_OF_ZONE = 100

/** Makes one count of callers that wait for other servers. */
export function createWaitingCallers(): WaitingCallers {
  const waiting = new Map<string, number>()
  return (zoneId, work) => {
    const count = waiting.get(zoneId) ?? 0
    if (count >= MAX_WAITING_OF_ZONE) return undefined
    waiting.set(zoneId, count + 1)
    return work().finally(() => {
      const left = (waiting.get(zoneId) ?? 1) - 1
      if (left === 0) waiting.delete(zoneId)
      else waiting.set(zoneId, left)
    })
  }
}
