import type { SecretGuesses } from '../../clients/authentication/method.ts'
import type { Random } from '../../base/random.ts'
import { digest } from '../../base/secrets.ts'
import { callerKey, siteKey } from './limits.ts'
import type { Limits } from './limits.ts'

/** Keys whose last wrong secret is known; beyond it the oldest is dropped. */
const MAX_KEYS = 10_000

/**
 * Limits wrong client secrets by address and client, and by network. A secret that was verified lately is not counted, and the
 * limit of the network does not stop it. The same wrong secret again is no new guess: a program that goes on with its old
 * secret must not shut out those beside it that have the new one.
 */
export function createSecretGuesses({
  limits,
  random,
}: {
  readonly limits: Pick<Limits, 'wrongClientSecrets' | 'wrongClientSecretsAt'>
  readonly random: Random
}): SecretGuesses {
  const { wrongClientSecrets, wrongClientSecretsAt } = limits
  const salt = random.hex(32)
  const lastWrong = new Map<string, string>()

  function isAnother(key: string, secret: string): boolean {
    const wrong = digest(`${salt}${secret}`)
    if (lastWrong.get(key) === wrong) return false
    const [oldest] = lastWrong.size >= MAX_KEYS ? lastWrong.keys() : []
    if (oldest !== undefined) lastWrong.delete(oldest)
    lastWrong.set(key, wrong)
    return true
  }

  return {
    check: (from, clientId) => wrongClientSecrets.check(() => callerKey(from, 'client', clientId)),
    async attempt(from, { clientId, secret }, verify) {
      const key = callerKey(from, 'client', clientId)
      const judge = async (): Promise<Judged> => {
        const isRight = await verify()
        return { isRight, isGuess: !isRight && isAnother(key, secret) }
      }
      const isGuess = (judged: Judged): boolean => judged.isGuess
      const atNetwork = () => wrongClientSecretsAt.attempt(siteKey(from, 'client'), judge, isGuess)
      return (await wrongClientSecrets.attempt(key, atNetwork, isGuess)).isRight
    },
  }
}

interface Judged {
  readonly isRight: boolean
  readonly isGuess: boolean
}
