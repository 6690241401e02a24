import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Factors } from '../../accounts/factors.ts'
import { levelOf } from '../../model/sessions/assurance.ts'
import { goTo } from '../../web/redirect.ts'
import type { SignedInUser } from '../../web/sessions/current-session.ts'
import type { ProvenFactor } from '../../web/sessions/sign-in-sessions.ts'
import { ownerOf } from './second-factor-task.ts'
import type { SecurityAccess } from './security-access.ts'
import type { LoginDeps } from '../deps.ts'

/** A factor that the user has just added, and the URL to continue with. */
interface Added {
  readonly signedIn: SignedInUser
  readonly factor: ProvenFactor
  readonly continueUrl: string
}

/** Continues after a factor was added: users without recovery codes see new ones first. */
type AfterAdding = (request: FastifyRequest, reply: FastifyReply, added: Added) => Promise<FastifyReply>

/** One instance serves every zone. */
export const createAfterAdding =
  ({ sessions, pages, urls }: LoginDeps, factors: Factors, { showCodes }: SecurityAccess): AfterAdding =>
  async (request, reply, { signedIn, factor, continueUrl }) => {
    // Adding a first factor proves it; otherwise the next request would ask for it.
    const isFirst = levelOf(signedIn.session.signIn.acr) === '1'
    if (isFirst && !(await sessions.strengthen(request, reply, signedIn, factor))) return goTo(reply, '/login', urls)
    const codes = await factors.firstRecoveryCodes(await ownerOf(request, signedIn, pages))
    return codes ? showCodes(request, reply, { signedIn, codes, continueUrl }) : goTo(reply, continueUrl, urls)
  }
