// Reads requests for approvals: a decision in the body, and the page of a list.
import type { FastifyRequest } from 'fastify'
import { addSeconds } from '../../base/clock.ts'
import type { JsonRecord } from '../../base/json.ts'
import type { OAuthError } from '../../model/oauth-error.ts'
import { REQUESTED_APPROVAL_SECONDS } from '../../model/users/approval.ts'
import type { Approval } from '../../model/users/approval.ts'
import { approvalFields } from '../../records/approval.ts'
import { readRecord, wireNames } from '../../records/record.ts'
import type { ApprovalOwner } from '../../users/approvals.ts'
import { refuseResource } from '../../users/refusal.ts'
import { queryForm, repeatedName } from '../../web/requests/query.ts'
import { refuseUnreadable } from './refusal.ts'
import type { AdminDeps } from '../deps.ts'

const MAX_SCOPE_LENGTH = 255

/** Throws what `/approvals` answers to a request that it cannot read. */
export function createApprovalReader({ clock, behaviour }: AdminDeps) {
  const refuse = (problem: string): OAuthError => refuseUnreadable(problem, behaviour)

  /** A decision of the owner; at the path of one client only about that client. */
  function approvalIn(json: JsonRecord, { zone, userId }: ApprovalOwner, ofClient: string | undefined): Approval {
    const { values, problems } = readRecord(approvalFields, withExactNames(json))
    const [problem] = problems
    if (problem) throw refuse(problem.message)
    const { scope, status, clientId = ofClient } = values
    if (values.userId !== undefined && values.userId !== '' && values.userId !== userId) {
      const message = 'Cannot update approvals for another user. Set user_id to null to update for existing user.'
      throw refuseResource('uaa', message, { status: 401 })
    }
    if (clientId === undefined || clientId === '') throw refuse('clientId is missing')
    if (ofClient !== undefined && clientId !== ofClient) throw refuse('clientId is not that of the path')
    if (scope === undefined || scope === '') throw refuse('scope is missing')
    if (scope.length > MAX_SCOPE_LENGTH) throw refuse(`scope must have at most ${MAX_SCOPE_LENGTH} characters`)
    if (status === undefined) throw refuse('status is missing')
    const now = clock.now()
    const { updatedAt = now, expiresAt = addSeconds(now, REQUESTED_APPROVAL_SECONDS) } = values
    return { zoneId: zone.id, userId, clientId, scope, status, updatedAt, expiresAt }
  }

  function pageOf(request: FastifyRequest): { startIndex: number; count: number } {
    refuseRepeated(request, ['startIndex', 'count'])
    const query = queryForm(request)
    const number = (name: string, fallback: number): number => {
      const text = query.get(name) || String(fallback)
      if (!/^\d{1,9}$/.test(text)) throw refuse(`The parameter ${name} must be a whole number`)
      return Number(text)
    }
    return { startIndex: Math.max(1, number('startIndex', 1)), count: number('count', 100) }
  }

  function refuseRepeated(request: FastifyRequest, names: readonly string[]): void {
    const repeated = repeatedName(queryForm(request), names, behaviour)
    if (repeated !== undefined) throw refuse(`The parameter ${repeated} must not be repeated`)
  }

  return { approvalIn, pageOf, refuseRepeated }
}

const EXACT_NAMES = new Map([...wireNames(approvalFields)].map(name => [name.toLowerCase(), name]))

/** UAA: the case of names does not count. */
const withExactNames = (json: JsonRecord): JsonRecord =>
  Object.fromEntries(Object.entries(json).map(([name, value]) => [EXACT_NAMES.get(name.toLowerCase()) ?? name, value]))
