import { OutboundBusy } from './error.ts'

/** Lets a caller wait for the work; rejects with `OutboundBusy`, without starting it, if too many callers of its zone are waiting. */
type WaitingCallers = <T>(zoneId: string, work: () => Promise<T>) => Promise<T>

/** Maximum per zone: all may wait for the same response, which may never arrive, and each is an open request of the process. */
const MAX_WAITING_OF_ZONE = 100

/** Creates one counter of callers that wait for other servers. */
export function createWaitingCallers(): WaitingCallers {
  const waiting = new Map<string, number>()
  return async (zoneId, work) => {
    const count = waiting.get(zoneId) ?? 0
    if (count >= MAX_WAITING_OF_ZONE) throw new OutboundBusy('documents of other servers')
    waiting.set(zoneId, count + 1)
    try {
      return await work()
    } finally {
      const left = (waiting.get(zoneId) ?? 1) - 1
      if (left === 0) waiting.delete(zoneId)
      else waiting.set(zoneId, left)
    }
  }
}
