import { setTimeout as timeout } from 'node:timers/promises'

/** Resolves after so many milliseconds, or when the signal is aborted; does not keep the process alive. */
export async function pauseUnless(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await timeout(milliseconds, undefined, { signal, ref: false })
  } catch {
    // aborted
  }
}

/**
 * Resolves when the total time, including `elapsed`, is a multiple of so many milliseconds, so that shorter durations are
 * indistinguishable.
 */
export const pauseToMultipleOf = (milliseconds: number, elapsed: number): Promise<void> =>
  timeout(milliseconds - (elapsed % milliseconds))
