import { mkdtempSync } from 'node:fs'
import { openEngine } from '../src/engine/open-engine.ts'
import { startServer } from './support/start-server.ts'
import { Catalog } from '../src/core/database/catalog.ts'
import { Notices } from '../src/core/notices/notices.ts'
import { readChanges } from '../src/core/database/changes.ts'
import { RowBuilder } from '../src/core/operations/change-rows.ts'
import { ChangeWriter } from '../src/http/couch/present-changes.ts'
const dir = mkdtempSync('/tmp/hd/prof-')
const engine = await openEngine({ kind: 'embedded', folder: dir })
const s = await startServer({ engine })
await s.ask('PUT','/db')
const N=50000
for (let at=0; at<N; at+=1000) await s.ask('POST','/db/_bulk_docs',{body:{docs:Array.from({length:1000},(_,i)=>({_id:'document-'+String(at+i).padStart(8,'0'),type:'report',number:at+i,text:'x'.repeat(400)}))}})
const catalog = new Catalog(engine, new Notices())
const database = await catalog.open('db')
const ops = { database, narrowsDocuments: false } as any
for (let round=0; round<6; round++) {
  const times=[0,0,0]; let bytes=0
  const rows = new RowBuilder(ops,{allLeaves:false,documents:{conflicts:false}})
  const w = new ChangeWriter({frame:{beforeRow:'',betweenRows:',\r\n',afterRow:()=>''},printSequence:x=>database.printSequence(x),seqInterval:1,limit:1e15,presentView:()=>Buffer.alloc(0)})
  let from=0
  const u0=process.cpuUsage()
  for(;;){
    let t=process.hrtime.bigint()
    const b = await readChanges(database,{from,descending:false,limit:400,withRecords:true})
    let t2=process.hrtime.bigint(); times[0]!+=Number(t2-t)
    const r = await rows.plain(b.changes)
    let t3=process.hrtime.bigint(); times[1]!+=Number(t3-t2)
    for (const x of r) w.row(x)
    bytes+=w.take().length
    times[2]!+=Number(process.hrtime.bigint()-t3)
    if(b.isLast) break
    from=b.changes.at(-1)!.seq
  }
  const u=process.cpuUsage(u0)
  console.log('cpu us/doc', ((u.user+u.system)/N).toFixed(2), 'read/rows/write us', times.map(t=>(t/N/1000).toFixed(2)).join(' '), bytes)
}
await s.close()
