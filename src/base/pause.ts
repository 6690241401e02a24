import { setTimeout as timeout } from 'node:timers/promises'

/** Resolves after so many milliseconds, or when the signal is aborted; does not keep the process alive. */
export async function pauseUnless(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await timeout(milliseconds, undefined, { signal, ref: false })
  } catch {
    // aborted
  }
}
