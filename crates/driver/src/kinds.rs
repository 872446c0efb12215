//! Client values by the text alone (I5): in `step(state, n, clients)` the third name may stand only
//! as the first argument of a DP intrinsic. Not in a comparison, a condition, a helper's argument,
//! an assignment, a list, a return: nowhere else. So an auditor sees where client data go by
//! searching for one word. The handle itself holds nothing and answers nothing (`values`); this
//! check also refuses the few questions that Starlark answers without asking the value
//! (`clients == clients`, `1 == clients`).

use starlark::syntax::AstModule;
use starlark_syntax::codemap::Span;
use starlark_syntax::syntax::ast::{
    ArgumentP, AssignTargetP, AstExpr, AstNoPayload, AstStmt, ClauseP, ExprP, ForClauseP,
    ParameterP, StmtP,
};
use starlark_syntax::syntax::uniplate::Visit;

use crate::DriverError;
use crate::intrinsics::{DP_INTRINSICS, RESERVED};
use siegel_program::Kind;

/// Checks the whole text of a driver.
pub(crate) fn check(ast: &AstModule) -> Result<(), DriverError> {
    let text = Text { ast };
    let mut steps = 0;
    for statement in top_level(ast.statement()) {
        text.names(
            statement,
            &RESERVED,
            "is an intrinsic's name and may not be bound again",
        )?;
        let StmtP::Def(def) = &statement.node else {
            continue;
        };
        if def.name.node.ident != "step" {
            continue;
        }
        steps += 1;
        let [
            ParameterP::Normal(..),
            ParameterP::Normal(..),
            ParameterP::Normal(client, _, None),
        ] = def.params.iter().map(|p| &p.node).collect::<Vec<_>>()[..]
        else {
            return text.form(
                statement.span,
                "expected step(state, n, clients)".to_owned(),
            );
        };
        let client = client.node.ident.as_str();
        text.names(
            &def.body,
            &[client],
            "is the client value and may not be bound again",
        )?;
        text.statement(&def.body, client)?;
    }
    match steps {
        1 => Ok(()),
        _ => text.form(
            ast.statement().span,
            "expected one function step(state, n, clients)".into(),
        ),
    }
}

struct Text<'a> {
    ast: &'a AstModule,
}

impl Text<'_> {
    /// Every use of the client's name is the first argument of an intrinsic.
    fn statement(&self, statement: &AstStmt, client: &str) -> Result<(), DriverError> {
        statement.node.visit_children_err(|child| match child {
            Visit::Stmt(statement) => self.statement(statement, client),
            Visit::Expr(expression) => self.expression(expression, client),
        })
    }

    fn expression(&self, expression: &AstExpr, client: &str) -> Result<(), DriverError> {
        let is = |e: &AstExpr, names: &[&str]| match &e.node {
            ExprP::Identifier(name) => names.contains(&name.node.ident.as_str()),
            _ => false,
        };
        if is(expression, &[client]) {
            return Err(DriverError::Kind {
                kind: Kind::Client,
                attempt: "an expression",
                line: Some(self.line(expression.span)),
            });
        }
        if let ExprP::Call(function, arguments) = &expression.node
            && is(function, &DP_INTRINSICS)
            && let Some((first, rest)) = arguments.args.split_first()
            && matches!(&first.node, ArgumentP::Positional(e) if is(e, &[client]))
        {
            return rest
                .iter()
                .try_for_each(|a| self.expression(a.node.expr(), client));
        }
        expression
            .node
            .visit_expr_err(|child| self.expression(child, client))
    }

    /// No statement or expression binds one of `names`.
    fn names(&self, statement: &AstStmt, names: &[&str], why: &str) -> Result<(), DriverError> {
        let taken = |ident: &str, span| match names.contains(&ident) {
            true => self.form(span, format!("{ident:?} {why}")),
            false => Ok(()),
        };
        let target = |target: &AssignTargetP<AstNoPayload>| {
            let mut found = Ok(());
            target.visit_lvalue(|name| {
                if found.is_ok() {
                    found = taken(&name.node.ident, name.span);
                }
            });
            found
        };
        let parameter = |p: &ParameterP<AstNoPayload>| {
            p.ident()
                .map_or(Ok(()), |name| taken(&name.node.ident, name.span))
        };
        let clause = |clause: &ForClauseP<AstNoPayload>| target(&clause.var.node);
        let expression = |e: &AstExpr| match &e.node {
            ExprP::Lambda(lambda) => lambda.params.iter().try_for_each(|p| parameter(&p.node)),
            ExprP::ListComprehension(_, first, rest) | ExprP::DictComprehension(_, first, rest) => {
                clause(first)?;
                rest.iter().try_for_each(|c| match c {
                    ClauseP::For(c) => clause(c),
                    ClauseP::If(_) => Ok(()),
                })
            }
            _ => Ok(()),
        };
        match &statement.node {
            StmtP::Def(def) => {
                taken(&def.name.node.ident, def.name.span)?;
                def.params.iter().try_for_each(|p| parameter(&p.node))?;
            }
            StmtP::Assign(assign) => target(&assign.lhs.node)?,
            StmtP::AssignModify(lhs, ..) => target(&lhs.node)?,
            StmtP::For(each) => target(&each.var.node)?,
            _ => {}
        }
        statement.node.visit_children_err(|child| match child {
            Visit::Stmt(statement) => self.names(statement, names, why),
            Visit::Expr(e) => every(e, &expression),
        })
    }

    fn line(&self, span: Span) -> usize {
        self.ast.file_span(span).resolve_span().begin.line + 1
    }

    fn form<T>(&self, span: Span, what: String) -> Result<T, DriverError> {
        Err(DriverError::Form {
            line: Some(self.line(span)),
            what,
        })
    }
}

/// Asks `check` of an expression and of all inside it.
fn every(
    e: &AstExpr,
    check: &dyn Fn(&AstExpr) -> Result<(), DriverError>,
) -> Result<(), DriverError> {
    check(e)?;
    e.node.visit_expr_err(|child| every(child, check))
}

fn top_level(module: &AstStmt) -> Vec<&AstStmt> {
    match &module.node {
        StmtP::Statements(all) => all.iter().flat_map(top_level).collect(),
        _ => vec![module],
    }
}

/// True if the text defines a function of this name.
pub(crate) fn defines(ast: &AstModule, name: &str) -> bool {
    let is = |statement: &AstStmt| matches!(&statement.node, StmtP::Def(def) if def.name.node.ident == name);
    top_level(ast.statement()).into_iter().any(is)
}
