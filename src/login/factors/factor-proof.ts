// Verifies what a user sends to the second step of a sign-in: the response of a passkey, or a code.
import type { FastifyRequest } from 'fastify'
import type { Factors } from '../../accounts/factors.ts'
import type { Form } from '../../web/requests/form.ts'
import { contextOf, originOf } from '../../web/requests/request-context.ts'
import type { SignedInUser } from '../../web/sessions/current-session.ts'
import type { ProvenFactor } from '../../web/sessions/sign-in-sessions.ts'
import { ceremonyOf } from './second-factor-task.ts'
import type { Problem, Task } from './second-factor-task.ts'
import type { LoginDeps } from '../deps.ts'

/** The result of a form. */
type Proof =
  | {
      readonly outcome: 'proved'
      readonly factor: ProvenFactor
      /** False for a recovery code or an administrator's code. */
      readonly isOwnFactor: boolean
      /** Makes a code usable again that has signed nobody in. */
      readonly undo?: () => Promise<void>
    }
  /** `untried`: nothing was tried that could be wrong. */
  | { readonly outcome: 'refused' | 'untried'; readonly problem: Problem }

/** Verifies the form for the task; reports an attempt with a passkey to the audit trail. */
type ProveFactor = (request: FastifyRequest, task: Task, form: Form) => Promise<Proof>

/** One instance serves every zone. */
export function createFactorProof(
  { urls, audit }: Pick<LoginDeps, 'urls' | 'audit'>,
  { passkeys, codeCheck }: Pick<Factors, 'passkeys' | 'codeCheck'>,
): ProveFactor {
  function report(request: FastifyRequest, { user }: SignedInUser, reason: string | undefined): void {
    audit({
      type: reason === undefined ? 'MfaAuthenticationSuccess' : 'MfaAuthenticationFailure',
      zoneId: request.zone.id,
      principal: user.id,
      origin: user.origin,
      ...originOf(request),
      data: reason === undefined ? 'passkey' : `passkey: ${reason}`,
    })
  }

  return async (request, task, form) => {
    const { signedIn, provable } = task
    const { user } = signedIn
    const answer = form.get('credential')
    if (answer !== undefined) {
      const wrong = { outcome: 'refused', problem: texts => texts.prove.wrongPasskey } satisfies Proof
      // The script sends nothing when the user cancelled.
      if (answer === '') return { outcome: 'untried', problem: (_, { login }) => login.passkeyUnused }
      if (!provable.includes('passkey')) return wrong
      const result = await passkeys.authenticate(ceremonyOf(request, signedIn, urls), { answer, user })
      const reason = result.outcome === 'proved' ? undefined : result.reason
      if (reason === 'expired') return { ...wrong, outcome: 'untried' }
      report(request, signedIn, reason)
      return result.outcome === 'proved' ? { outcome: 'proved', factor: result, isOwnFactor: true } : wrong
    }
    const isRecovery = form.get('way') === 'recovery'
    const wrong = {
      outcome: 'refused',
      problem: texts => (isRecovery ? texts.prove.wrongRecovery : texts.prove.wrongCode),
    } satisfies Proof
    if (!task.isFirstStep) return wrong
    const result = await codeCheck(contextOf(request), { user, code: form.get('code') ?? '', methods: provable })
    if (result.outcome === 'good') {
      const { by, undo } = result
      return { outcome: 'proved', factor: { level: '2', amr: ['otp'] }, isOwnFactor: by === 'totp', undo }
    }
    // The password was right, so this does not reveal whether there is such an account.
    return result.reason === 'locked' ? { ...wrong, problem: (_, { errors }) => errors.account_locked } : wrong
  }
}
