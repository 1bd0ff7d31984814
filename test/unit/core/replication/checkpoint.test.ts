import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  commonAncestor,
  makeCheckpoint,
  readCheckpoint,
  withNumericSequences,
} from '../../../../src/core/replication/checkpoint.ts'
import { sequenceNumber } from '../../../../src/core/replication/peer-sequence.ts'
import { ReplicationProgress } from '../../../../src/core/replication/replication-progress.ts'

const entry = (session_id: string, recorded_seq: unknown) => ({ session_id, recorded_seq })
const document = (session_id: string, source_last_seq: unknown, history: unknown[]) => ({
  session_id,
  source_last_seq,
  history,
})

describe('how far two ends agree', () => {
  it('is what the last session says when it was the same', () => {
    const both = document('s2', '9-x', [entry('s2', '9-x'), entry('s1', '5-x')])
    assert.equal(commonAncestor(both, both).seq, '9-x')
  })

  it('is the newest session that both know', () => {
    const source = document('s4', 9, [entry('s4', 9), entry('s2', 5), entry('s1', 3)])
    const target = document('s3', 7, [entry('s3', 7), entry('s2', 5), entry('s1', 3)])
    const { seq, history } = commonAncestor(source, target)
    assert.equal(seq, 5)
    assert.deepEqual(
      history.map(({ session_id }) => session_id),
      ['s2', 's1'],
    )
  })

  it('is the beginning when nothing is shared or one end knows nothing', () => {
    const source = document('a', 9, [entry('a', 9)])
    assert.equal(commonAncestor(source, document('b', 8, [entry('b', 8)])).seq, 0)
    assert.equal(commonAncestor(source, undefined).seq, 0)
    assert.equal(commonAncestor(undefined, source).seq, 0)
  })

  it('takes no harm from documents that are no checkpoints', () => {
    for (const strange of [null, 5, 'x', {}, { session_id: 5 }, document('a', 9, [null, 5, {}])]) {
      assert.equal(commonAncestor(strange, strange).seq, readCheckpoint(strange) ? 9 : 0)
    }
  })
})

describe('a checkpoint', () => {
  const facts = {
    session: { id: 'new', startedMs: 0, startSeq: '1-a' },
    nowMs: 61_000,
    seq: '7-b',
    counts: new ReplicationProgress().counts,
    history: Array.from({ length: 60 }, (_, index) => ({ ...entry(`s${index}`, index) }) as never),
    countsOnTop: false,
  }

  it('holds the newest sessions first, fifty of them', () => {
    const { history, session_id, source_last_seq } = makeCheckpoint(facts)
    assert.equal(history.length, 50)
    assert.equal(history[0]?.session_id, 'new')
    assert.equal(history[0]?.end_time, 'Thu, 01 Jan 1970 00:01:01 GMT')
    assert.deepEqual([session_id, source_last_seq], ['new', '7-b'])
  })

  it('replaces what the same session wrote before', () => {
    const first = makeCheckpoint({ ...facts, history: [] })
    const second = makeCheckpoint({ ...facts, seq: '8-c', history: first.history })
    assert.equal(second.history.length, 1)
    assert.equal(second.history[0]?.recorded_seq, '8-c')
  })

  it('shows its counters on top for named documents', () => {
    assert.equal(makeCheckpoint({ ...facts, countsOnTop: true }).docs_read, 0)
    assert.equal('docs_read' in makeCheckpoint(facts), false)
  })

  it('can show numbers for sequences', () => {
    const numeric = withNumericSequences(makeCheckpoint(facts))
    assert.equal(numeric.source_last_seq, 7)
    assert.equal(numeric.history[0]?.start_last_seq, 1)
    assert.deepEqual([[12, 'x'], '3-abc', 4, 'x', null].map(sequenceNumber), [12, 3, 4, 0, 0])
  })
})
