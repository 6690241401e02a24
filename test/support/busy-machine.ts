import { availableParallelism, loadavg } from 'node:os'

/**
 * The limit in a test of a promised time: one and a half times as long, and longer where more programs run than processors. A
 * whole number, which `AbortSignal.timeout` requires.
 */
export function onThisMachine(promised: number): number {
  const [load = 0] = loadavg()
  return Math.ceil(promised * Math.max(1.5, load / availableParallelism()))
}
