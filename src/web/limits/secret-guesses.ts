import type { SecretGuesses } from '../../clients/authentication/method.ts'
import { LatestMap } from '../../base/latest-map.ts'
import type { Random } from '../../base/random.ts'
import { digest } from '../../base/secrets.ts'
import { callerKey, siteKey } from './limits.ts'
import type { Limits } from './limits.ts'

/** Keys whose last wrong secret is known; beyond it the oldest is dropped. */
const MAX_KEYS = 10_000

/**
 * Limits wrong client secrets by address and client, and by network. A recently verified secret is not counted, and the
 * limit of the network does not stop it. The same wrong secret again is no new guess: a program that still uses its old
 * secret must not lock out others with the new one. Nor are concurrent requests with the same secret new guesses: after a
 * start, when no secret was verified yet, a busy program has hundreds of them under way.
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
  const lastWrong = new LatestMap<string>(MAX_KEYS)
  const underWay = new Map<string, Promise<boolean>>()

  function isAnother(key: string, wrong: string): boolean {
    if (lastWrong.get(key) === wrong) return false
    lastWrong.set(key, wrong)
    return true
  }

  async function judged(key: string, { from, tried, verify }: Guess): Promise<boolean> {
    const judge = async (): Promise<Judged> => {
      const isRight = await verify()
      return { isRight, isGuess: !isRight && isAnother(key, tried) }
    }
    const isGuess = (outcome: Judged): boolean => outcome.isGuess
    const atNetwork = () => wrongClientSecretsAt.attempt(siteKey(from, 'client'), judge, isGuess)
    return (await wrongClientSecrets.attempt(key, atNetwork, isGuess)).isRight
  }

  return {
    check: (from, clientId) => wrongClientSecrets.check(() => callerKey(from, 'client', clientId)),
    attempt(from, { clientId, secret, client }, verify) {
      const key = callerKey(from, 'client', clientId)
      const tried = digest(`${salt}${secret}`)
      // The record's secrets belong to it: an attempt after their change is another one.
      const same = JSON.stringify([key, tried, client?.secrets.map(({ hash }) => hash)])
      const begun = underWay.get(same)
      if (begun) return begun
      const attempt = judged(key, { from, tried, verify }).finally(() => underWay.delete(same))
      underWay.set(same, attempt)
      return attempt
    },
  }
}

interface Guess {
  readonly from: Parameters<SecretGuesses['attempt']>[0]
  /** Digest of the secret. */
  readonly tried: string
  readonly verify: () => Promise<boolean>
}

interface Judged {
  readonly isRight: boolean
  readonly isGuess: boolean
}
