import { OutboundBusy } from './outbound/error.ts'

/** Lets a caller wait for the work; rejects with `OutboundBusy`, without beginning it, if too many of its zone wait already. */
type WaitingCallers = <T>(zoneId: string, work: () => Promise<T>) => Promise<T>

/** Callers of a zone: all wait for the same answer, which may not come, and each is a request that the process has under way. */
const MAX_WAITING_OF_ZONE = 100

/** Makes one count of callers that wait for other servers. */
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
