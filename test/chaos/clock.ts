// Loaded into a node (`NODE_OPTIONS=--import`): on SIGUSR2 its clock jumps by the seconds that the file `clock-jump` in its
// working folder holds, as when an administrator or NTP sets the clock of its machine. What measures time does not jump.
import { readFileSync } from 'node:fs'

const RealDate = Date
let jumpMs = 0
const now = (): number => RealDate.now() + jumpMs

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args: unknown[], newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  apply: () => new RealDate(now()).toString(),
  get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
})

process.on('SIGUSR2', () => {
  jumpMs = Number(readFileSync('clock-jump', 'utf8')) * 1000
})
