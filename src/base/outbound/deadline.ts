// How long requests to other servers may take.

/** From the DNS query to the last byte. */
export const TIMEOUT_MS = 5000

/** Rejects when the signal aborts; a DNS query itself cannot be cancelled. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(new Error('aborted'))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
