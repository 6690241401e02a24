import { setTimeout as timeout } from 'node:timers/promises'

/** Resolves after so many milliseconds, or when the signal is aborted; does not keep the process alive. */
export async function pauseUnless(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await timeout(milliseconds, undefined, { signal, ref: false })
  } catch {
    // aborted
  }
}

/** Resolves when a multiple of so many milliseconds has passed, `elapsed` included: what took less than one cannot be told apart. */
export const pauseToMultipleOf = (milliseconds: number, elapsed: number): Promise<void> =>
  timeout(milliseconds - (elapsed % milliseconds))
