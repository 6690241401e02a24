// The process of one session: signs what it is sent, one after the other. It has access to nothing but the token, and ends with the
// server, or at the first failure: the next process begins with a new session.
import { foreignFunctions } from '../../base/foreign-functions.ts'
import type { OpenAnswer, OpenRequest, SignAnswer, SignRequest } from './messages.ts'
import type { TokenSession } from './module.ts'
import { openToken } from './module.ts'
import { isPinRefused } from './token-failure.ts'

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Sends the last message, and ends the process once it is sent. */
function end(message: OpenAnswer | SignAnswer): void {
  process.send?.(message, () => process.disconnect())
}

function open({ location, mechanism }: OpenRequest): TokenSession | undefined {
  try {
    if (process.platform === 'win32') throw new Error('keys in tokens are not supported on Windows')
    const functions = foreignFunctions()
    if (functions === undefined) throw new Error('keys in tokens need Node.js 26.1 or later')
    return openToken(location, mechanism, functions)
  } catch (error) {
    end({ failure: reasonOf(error), isPinRefused: isPinRefused(error) })
    return undefined
  }
}

// A terminal sends them to the server, too, which finishes its requests first.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.on('SIGHUP', () => {})

function serve(request: OpenRequest): void {
  const session = open(request)
  if (!session) return
  let isEnding = false
  process.on('message', (input: SignRequest) => {
    if (isEnding) return // answers are matched by their order: one to a later request would go to the one that failed
    try {
      process.send?.(session.sign(Buffer.from(input)))
    } catch (error) {
      isEnding = true
      end({ failure: reasonOf(error) })
    }
  })
  process.send?.({ publicKey: session.publicKey } satisfies OpenAnswer)
}

process.once('message', serve)
