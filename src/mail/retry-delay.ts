import type { Random } from '../base/random.ts'

const MINUTE = 60_000
/** Before the next attempt for a temporarily refused mail; doubles after the last. */
const DELAYS_MS = [1 * MINUTE, 5 * MINUTE, 15 * MINUTE, 60 * MINUTE]

/** Milliseconds to wait after this many attempts. */
export function delayAfter(attempts: number): number {
  const last = DELAYS_MS.length - 1
  return (DELAYS_MS[Math.min(attempts - 1, last)] ?? MINUTE) * 2 ** Math.max(0, attempts - 1 - last)
}

/** Jitter of 80 to 120 percent, so that processes and mails do not retry in lockstep. */
export const jittered = (milliseconds: number, random: Random): number =>
  Math.round(milliseconds * (0.8 + (0.4 * random.bytes(2).readUInt16BE()) / 0xffff))

/** Milliseconds until then; 0 if it is implausibly far away because the clock was set back. */
export function untilThen(then: number, now: number, max: number): number {
  const left = then - now
  return left > max ? 0 : left
}
